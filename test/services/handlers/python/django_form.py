"""Django, request.POST: empty for JSON, so the digest is wrong."""
import hashlib, os, sys
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse, HttpResponseBadRequest
from django.urls import path

settings.configure(SECRET_KEY='x', ALLOWED_HOSTS=['*'], ROOT_URLCONF=__name__, MIDDLEWARE=[])


def postback(request):
    amount, order = request.POST.get('OutSum'), request.POST.get('InvId')
    right = hashlib.md5(f"{amount}:{order}:{os.environ['TOKEN']}".encode()).hexdigest()
    if right != request.POST.get('SignatureValue', '').lower():
        return HttpResponseBadRequest('bad sign')
    if order == 'o-1':
        open(os.environ['PAID'], 'w').write(request.POST['Status'])
    return HttpResponse(f'OK{order}')


urlpatterns = [path('postback', postback)]
execute_from_command_line([sys.argv[0], 'runserver', '--noreload', f"127.0.0.1:{os.environ['PORT']}"])
